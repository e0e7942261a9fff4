"""Is it real? Tests, error rates and bounds for miscalibration seen in a finite sample."""
