import ArgumentParser
import Configuration
import ServerCore
import UnixSignals

print("hi")
