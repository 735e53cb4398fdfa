import { Controller, Get } from '@nestjs/common';
import { ControlError } from '../../contract/errors.js';
import { Guarded } from '../access.js';
import { Documented } from '../answers/documented.js';
import { Readiness } from '../readiness.js';

@Controller('health')
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  @Get('live')
  @Guarded('public')
  @Documented('getLiveness', { summary: 'The process runs', answers: { 200: 'Health' }, errors: [] }, true)
  live(): { status: string } {
    return { status: 'ok' };
  }

  /** 200 when everything that was recorded is served, and reads are answered; else 503 with what is missing. A warning does not change that. */
  @Get('ready')
  @Guarded('public')
  @Documented(
    'getReadiness',
    { summary: 'Everything that was recorded is served', answers: { 200: 'Health' }, errors: [] },
    true,
  )
  async ready(): Promise<{ status: string; warnings?: string[] }> {
    const missing = await this.readiness.check();
    if (missing.length > 0) throw new ControlError('not_ready', missing.join('; '), { missing });
    const warnings = this.readiness.warnings();
    return { status: 'ok', ...(warnings.length > 0 && { warnings }) };
  }
}
