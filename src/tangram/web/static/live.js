// Live pages: see below.
