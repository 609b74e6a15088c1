"""What can be wrong with an export: order, grid, clock, hours, prices; counted, and reported."""
