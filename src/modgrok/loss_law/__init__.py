"""The accuracy to expect of a network: from its training loss, or from its table alone, as a census measured it."""
