"""What a network is: experts in a circuit, its file, its check against integers, its export."""
