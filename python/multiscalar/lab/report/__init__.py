"""The report: one self-contained HTML page from records. `page.build_report` is the entrance.

No network, no foreign script; charts are SVG drawn by matplotlib whose colours become CSS variables, so that one page
serves light and dark. Under 1 MB: strips with very many samples are thinned, and say so.
"""
