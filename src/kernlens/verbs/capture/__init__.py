"""An application under the layer's recorder: the files that it spools become Builds, and those a recording."""
