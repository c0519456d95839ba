"""One algorithm a file, all on the same objective; `working_set` is the loop around them."""
