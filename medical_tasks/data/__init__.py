"""Official files in, datasets out.

Reading, building, cards, Croissant, and the frames of a construction.
"""
