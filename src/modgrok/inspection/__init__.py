"""What a network computes with: spectra, waves, their phase law, the snapped network."""
