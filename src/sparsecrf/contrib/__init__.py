"""Everything built on the core of the package: interfaces of other tools, clusters, plots, reports, data sets."""
