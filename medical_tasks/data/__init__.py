"""Official files in, datasets out: reading, building, cards, Croissant, and the frames of a construction."""
