"""Evidence: pure stages turned into files that are computed once, kept, and verified when read.

    shards        what is computed: stage, shard, call, result
    fingerprint   which code and which versions computed it
    keys          one name for all that determines a result
    store         one payload and one sidecar a shard, written so that a kill loses nothing else
    locks, slots  who computes what; how many models fit in memory at once
    threads       one thread a shard, however it is called
    engine        require and load
    plan          which shards a set of wanted ones needs, what they cost, how far they are
    inventory     what lies in the store, and deleting what nothing needs
    stages/       the stage functions
    views/        evidence as claims read it: per-head arrays

Begin with `shards`, then `engine`. May import operators, statistics, texts and models; knows nothing of claims, nor
of pytest.
"""
