import CLibFuzzer
import Glibc

// fuzz TARGET [options of libFuzzer …] [corpus …]
// For -fork and -merge libFuzzer runs this program again with only its own options: the target is in the environment.
let named = CommandLine.arguments.dropFirst().first.flatMap { FuzzTarget(rawValue: $0) }
guard CommandLine.arguments.count > 1, let target = named ?? FuzzTarget.given else {
    print(FuzzTarget.allCases.map(\.rawValue).joined(separator: "\n"))
    exit(CommandLine.arguments.count > 1 ? 64 : 0)
}
setenv(FuzzTarget.variable, target.rawValue, 1)

let options = CommandLine.arguments.dropFirst(named == nil ? 1 : 2)
var arguments = ([CommandLine.arguments[0]] + options).map { strdup($0) }
arguments.append(nil)
var count = Int32(arguments.count - 1)
arguments.withUnsafeMutableBufferPointer { buffer in
    var start = buffer.baseAddress
    exit(
        LLVMFuzzerRunDriver(&count, &start) { data, size in
            FuzzTarget.chosen.run(Array(UnsafeBufferPointer(start: data, count: size)))
            return 0
        })
}
