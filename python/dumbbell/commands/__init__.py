"""The commands of the ``dumbbell`` command line, each in a module.

Modules are imported when the command line starts, so they import at the top only what is quick.
"""
