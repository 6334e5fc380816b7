"""Write and read recordings (``.klens``), which hold what a compile yielded."""
