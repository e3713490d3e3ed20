import Engine

/// Elapses of a timer that were missed and are not caught up.
enum MissedText {
    /// `3 elapses missed: watchd was not running (CatchUp=none)`.
    static func sentence(_ count: Int, _ reason: String) -> String {
        "\(counted(count, "elapse")) missed: \(reason)"
    }
}
