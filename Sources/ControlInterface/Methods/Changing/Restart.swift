package enum Restart: ControlMethod {
    package typealias Parameters = ProcessName
    package typealias Reply = ProcessCopies
}
