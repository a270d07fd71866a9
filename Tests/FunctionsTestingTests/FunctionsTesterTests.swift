import FunctionsRuntime
import FunctionsTesting
import Testing

@Suite struct FunctionsTesterTests {
}
