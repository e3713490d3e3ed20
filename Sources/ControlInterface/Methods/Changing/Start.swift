package enum Start: ControlMethod {
    package typealias Parameters = ProcessName
    package typealias Reply = ProcessCopies
}
