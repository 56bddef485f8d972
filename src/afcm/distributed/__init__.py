"""Samples in Dask arrays and data frames: the models' own passes, made where the chunks are.

Loaded when the first Dask array arrives. `entering` checks it, `passing` makes a model's pass over chunks and combines
what they give, `executing` runs it and says what to do when the workers are gone; `arrays` is the face to the rest.
"""
