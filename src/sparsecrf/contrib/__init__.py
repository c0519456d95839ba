"""Packages built on the core: interfaces of other tools, clusters, plots, reports and data sets."""
