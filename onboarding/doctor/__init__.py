"""What `notebook-gateway doctor` can say, and the hops that need no connection: files, policies, the host's start.

The hops behind the native host's socket stand in `notebook_gateway/doctor/`, because they work as a broker does.
"""
