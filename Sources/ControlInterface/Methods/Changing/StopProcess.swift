package enum StopProcess: ControlMethod {
    package typealias Parameters = ProcessName
    package typealias Reply = ProcessCopies
}
