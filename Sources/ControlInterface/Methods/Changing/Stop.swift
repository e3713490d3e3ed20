package import Varlink

package enum Stop: ControlMethod {
    package typealias Parameters = NoParameters
    package typealias Reply = NoParameters
}
