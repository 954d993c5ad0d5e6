"""All drawing: each function takes results or plain columns and returns a `Figure`, which notebooks show.

`style.save_figure` writes one to files; no other module of modgrok knows matplotlib.
"""
