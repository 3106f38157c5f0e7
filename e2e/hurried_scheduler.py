"""`tangram` whose own certificates live for half a minute instead of three months; all else is the product.

Run with `tangram`'s own arguments.
"""

import datetime as dt
import sys

from tangram.cli.app import main
from tangram.services.scheduler import authority
from tangram.services.scheduler.generations import Pace

HURRIED = Pace(
    life=dt.timedelta(seconds=36), renew_after=dt.timedelta(seconds=12), settle=dt.timedelta(seconds=4)
)

if __name__ == "__main__":
    authority.LOOK_EVERY_S = 0.5
    # No option sets the pace, as nobody needs another; here it is the default that is another one.
    defaults = authority.OwnAuthority.__init__.__kwdefaults__
    assert defaults is not None
    defaults["pace"] = HURRIED
    sys.exit(main())
