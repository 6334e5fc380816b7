"""The writer and the reader of recordings (``.klens``), which hold what a compile yielded."""
