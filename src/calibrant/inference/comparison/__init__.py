"""Two predictors or more: which is nearer to calibrated?"""
