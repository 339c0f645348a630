"""report.html: one self-contained page a run, and compare.html for two.

    page      what stands on the page, as plain data
    build     run, study and evidence -> page
    render    page -> HTML: Jinja2 templates and one style sheet, everything inline
    outcome   how an outcome looks: word, mark and style class

No script, no request: the page's own policy forbids both. Begin with `page`.
"""
