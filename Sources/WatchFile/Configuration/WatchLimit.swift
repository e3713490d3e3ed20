/// `MaxWatches=`: inotify watches that may be taken.
package enum WatchLimit: Equatable, Sendable, CustomStringConvertible {
    case number(Int)
    /// Per cent of those that a user may have (`fs.inotify.max_user_watches`).
    case share(Int)

    /// As a watch file writes it.
    package var description: String {
        switch self {
        case .number(let number): "\(number)"
        case .share(let percent): "\(percent)%"
        }
    }

    /// - Parameter most: those that a user may have.
    package func count(of most: Int) -> Int {
        switch self {
        case .number(let number): number
        case .share(let percent): most / 100 * percent + most % 100 * percent / 100
        }
    }
}
