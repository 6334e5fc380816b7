/* Nothing: a library of the driver's name, to link the layer with where no driver is installed (setup.py). */
typedef int nothing;
