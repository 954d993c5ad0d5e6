"""The loss law: the test accuracy that a training loss, or a table alone, stands for."""
