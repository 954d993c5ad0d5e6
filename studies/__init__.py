"""What the package does without: studies of hours on a GPU, fits of the laws that ship as data, other people's loops.

    strong*, rest                       the strong hypothesis: what is trained, trained on, and what it comes to
    endtoend*, starts                   circuits of experts trained end to end, with their controls
    table_law, fractions, fits,         the laws of `classify`, fitted to censuses; phase diagrams
    phase_diagrams
    resuming                            what studies share that go on where they were stopped
    contenders                          the loops that `modgrok bench train` times beside modgrok's
    dataset_*                           the published data set of all censuses, with its card and metadata

The commands `modgrok paper strong|endtoend`, `modgrok census fractions`, `modgrok bench train` and
`modgrok dataset build` find them here (`modgrok.base.repository`).
"""
