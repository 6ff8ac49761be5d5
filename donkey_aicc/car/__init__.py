"""Our parts in a car: where they go in the loop, what the template needs, how a car gets them."""
