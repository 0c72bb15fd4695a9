pid$target: = 0x1fUL {{{{{{{{+ on provider p providdr
#. trace($$
