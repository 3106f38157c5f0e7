"""MetaX cards through the vendor's management library, the way that knows most about them.

The interface is declared here in our own words (`layouts`, `functions`, `codes`) and bound with ctypes, so that nothing
of the vendor's has to be present to build, test or import this package. `driver.MxsmlDriver` is the way in.
"""
