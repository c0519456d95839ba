"""Everything built on the core of the package: interfaces of other tools, clusters, pictures, reports, data sets."""
