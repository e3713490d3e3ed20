/// Why there is nothing to measure: one sentence.
struct Failure: Error {
    var message: String
    var exitCode: Int32 = 1

    static func usage(_ message: String) -> Failure {
        Failure(message: "\(message)\nTry watchd-bench --help.", exitCode: 2)
    }
}
