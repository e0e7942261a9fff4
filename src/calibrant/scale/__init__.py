"""Where rows come from when they are not in memory: files on disk today."""
