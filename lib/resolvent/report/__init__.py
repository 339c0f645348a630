"""What is shown of a run, and what it leaves on disk.

Imported by the pytest plugin and the command line only; imports the registry and the floors below it.
Begin reading in `verdict_words.py` (the table of outcomes), then `verdict_line.py` (the line of verdicts.jsonl).
"""
