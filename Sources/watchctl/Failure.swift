/// Why a verb could not do what it was asked.
struct Failure: Error, Equatable {
    /// What, and why: one sentence.
    var message: String
    /// What would help.
    var help: String?
    /// Lines that are shown before, such as the diagnostics of a watch file.
    var details: [String] = []
    var exitCode: ExitCode

    static func usage(_ message: String, help: String? = nil) -> Failure {
        Failure(message: message, help: help, exitCode: .usage)
    }
}
