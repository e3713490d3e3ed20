import LinuxSystem

/// A command run to its end.
struct Child {
    var output: [UInt8]
    var status: ExitStatus

    var text: String { String(decoding: output, as: UTF8.self) }

    /// Standard input is empty; standard output and error are collected.
    static func run(
        _ words: [[UInt8]], environment: [[UInt8]] = [], change: (inout SpawnSpecification) -> Void = { _ in }
    ) throws -> Child {
        let pipe = try Linux.pipe()
        let null: FileDescriptor
        do {
            null = try Linux.open("/dev/null", .readingAndWriting)
        } catch {
            pipe.readEnd.close()
            pipe.writeEnd.close()
            throw error
        }
        var specification = SpawnSpecification(
            path: words[0], arguments: words, environment: environment,
            descriptors: [null.rawValue, pipe.writeEnd.rawValue, pipe.writeEnd.rawValue])
        change(&specification)
        let spawned = Result { () throws(SpawnError) in try start(specification) }
        null.close()
        pipe.writeEnd.close()
        return try pipe.readEnd.use { output throws in
            let pidfd = FileDescriptor(owning: try spawned.get())
            return try pidfd.use { pidfd throws in
                let output = try Linux.readToEnd(output, limit: 1 << 20)
                return Child(output: output, status: try Linux.waitUntilEnd(pidfd))
            }
        }
    }

    static func shell(
        _ script: String, environment: [[UInt8]] = [], change: (inout SpawnSpecification) -> Void = { _ in }
    ) throws -> Child {
        try run(["/bin/sh", "-c", script].map(\.pathBytes), environment: environment, change: change)
    }

    private static func start(_ specification: SpawnSpecification) throws(SpawnError) -> Int32 {
        let process = try Linux.spawn(specification)
        return process.pidfd.release()
    }
}
