import Engine
import WatchFile

/// The reloads that are on their way or asked for.
struct Reloads {
    typealias Done = (Runtime.ReloadOutcome) -> Void

    private(set) var isUnderWay = false
    /// Clients that asked while one was on its way: one more is made for all of them.
    private var later: [Done] = []
    private var applied: [Token: (Swift.Result<ConfigurationChange, EngineProblem>) -> Void] = [:]

    /// False: one is on its way, whose files may have changed since it has read them; another follows it.
    mutating func begin(_ done: @escaping Done) -> Bool {
        guard isUnderWay else {
            isUnderWay = true
            return true
        }
        later.append(done)
        return false
    }

    /// - Parameter done: gets the engine's answer to the command with the token.
    mutating func apply(
        _ token: Token, _ done: @escaping (Swift.Result<ConfigurationChange, EngineProblem>) -> Void
    ) { applied[token] = done }

    mutating func take(_ token: Token) -> ((Swift.Result<ConfigurationChange, EngineProblem>) -> Void)? {
        applied.removeValue(forKey: token)
    }

    /// The one under way has ended. Returns those who wait for the next one.
    mutating func end() -> [Done] {
        isUnderWay = false
        defer { later = [] }
        return later
    }
}
