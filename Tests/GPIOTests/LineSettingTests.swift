import Testing

@testable import GPIO

@Suite("What a line is requested as, in the numbers of linux/gpio.h")
struct LineSettingTests {
    private static let input: UInt64 = 1 << 2 | 1 << 4 | 1 << 5
    private static let output: UInt64 = 1 << 3
    private static let activeLow: UInt64 = 1 << 1
    private static let pullUp: UInt64 = 1 << 8
    private static let pullDown: UInt64 = 1 << 9

    @Test(
        "GPIO_V2_LINE_FLAG_*: an input is watched for both edges, an output drives and is not",
        arguments: [
            (LineSetting.Use.input, false, LineSetting.Bias.none, input),
            (.input, true, .none, input | activeLow),
            (.input, false, .up, input | pullUp),
            (.input, true, .up, input | activeLow | pullUp),
            (.input, false, .down, input | pullDown),
            (.input, true, .down, input | activeLow | pullDown),
            (.output(isActive: false), false, .none, output),
            (.output(isActive: true), false, .none, output),
            (.output(isActive: false), true, .none, output | activeLow),
            (.output(isActive: true), true, .none, output | activeLow),
            (.output(isActive: false), false, .up, output | pullUp),
            (.output(isActive: false), false, .down, output | pullDown),
        ])
    func flags(use: LineSetting.Use, isActiveLow: Bool, bias: LineSetting.Bias, flags: UInt64) {
        #expect(LineSetting(.number(0), use, isActiveLow: isActiveLow, bias: bias).flags == flags)
    }

    @Test("What is not said is neither active low nor pulled")
    func defaults() {
        #expect(LineSetting(.number(0), .input).flags == Self.input)
    }
}
