"""What needs torch is looked at only where it is."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["torch_networks.py"]
