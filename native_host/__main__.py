"""Entry of the native host: ``python -I -S …/native_host/__main__.py --home FOLDER chrome-extension://…/``.

Isolated mode hides this package, so it is made known by hand, and nothing else: appending its parent to `sys.path`
would make every package beside it importable, too.
"""

import os
import sys
import types

if "native_host" not in sys.modules:
    package = types.ModuleType("native_host")
    package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
    sys.modules["native_host"] = package

from native_host.host import main  # the package has to be known first

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
