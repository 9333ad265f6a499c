"""Values of ops that are written down by hand, as rows: what is special about
an op, above all NaN, infinity, ties, zeros and the ends of integers.

Each module is a family of ops. `test_by_hand.py` runs every row with every
kernel that takes it.
"""
