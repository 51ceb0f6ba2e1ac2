import CLibFuzzer
import Glibc

// fuzz TARGET [options of libFuzzer …] [corpus …]
guard CommandLine.arguments.count > 1, let target = FuzzTarget(rawValue: CommandLine.arguments[1]) else {
    print(FuzzTarget.allCases.map(\.rawValue).joined(separator: "\n"))
    exit(CommandLine.arguments.count > 1 ? 64 : 0)
}
setenv("SHARESERVE_FUZZ_TARGET", target.rawValue, 1)

var arguments = ([CommandLine.arguments[0]] + CommandLine.arguments.dropFirst(2)).map { strdup($0) }
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
