import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// The server that an example speaks to, on a socket in the folder of a test.
struct Server {
    /// Words of the example, and what stands in their place where this server is meant.
    let place: (words: String, meant: String)
    private let program: Program

    /// - Returns: `nil`: the example needs none.
    /// - Throws: `Missing`.
    static func start(for example: String, in folder: Folder) throws -> Server? {
        let socket = folder["server"]
        if example.contains("mosquitto_") {
            try needs(["mosquitto", "mosquitto_pub", "mosquitto_sub"])
            try folder.write(
                "server.conf", "listener 0 \(socket)\nallow_anonymous true\nuser root\npersistence false\n")
            return try Server(["mosquitto", "-c", folder["server.conf"]], ("-h localhost", "--unix \(socket)"), socket)
        }
        if example.contains("redis-cli") {
            try needs(["redis-server", "redis-cli"])
            let words = [
                "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder.path,
            ]
            let server = try Server(words, ("redis-cli", "redis-cli -s \(socket)"), socket)
            // It listens before it has loaded its data, and refuses commands until then.
            try wait(for: "redis-server to answer") {
                try Program.run(["redis-cli", "-s", socket, "ping"]).text == "PONG\n"
            }
            return server
        }
        return nil
    }

    /// A program of the example is not installed.
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    private static func needs(_ programs: [String]) throws {
        for program in programs {
            guard ["/usr/bin/", "/usr/sbin/"].contains(where: { (try? Linux.stat($0 + program)) != nil }) else {
                throw Missing(description: "\(program) is not installed")
            }
        }
    }

    private init(_ words: [String], _ place: (words: String, meant: String), _ socket: String) throws {
        let null = try Linux.open("/dev/null", .readingAndWriting).release()
        defer { FileDescriptor(owning: null).close() }
        program = try Program(
            words.map { Array($0.utf8) }, environment: Program.environment, descriptors: [null, null, null])
        self.place = place
        try wait(for: "\(words[0]) to listen") { (try? Linux.stat(socket)) != nil }
    }

    func stop() {
        program.send(SIGTERM)
        program.wait()
    }
}
