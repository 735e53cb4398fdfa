import type { LoggerService } from '@nestjs/common';
import type { Logger } from 'pino';

/** The framework's own messages, in the service's log. What it tells at start is for those who debug it. */
export function nestLogger(logger: Logger): LoggerService {
  const write =
    (level: 'debug' | 'warn' | 'error') =>
    (message: unknown, ...details: unknown[]) => {
      logger[level]({ details }, message instanceof Error ? message.message : String(message));
    };
  return {
    log: write('debug'),
    debug: write('debug'),
    verbose: write('debug'),
    warn: write('warn'),
    error: write('error'),
  };
}
