"""Our reproduction of the paper in the embedded simulator. Not in the wheel; the product never imports it."""
