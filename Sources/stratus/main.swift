// The command-line tool.

print("stratus")
